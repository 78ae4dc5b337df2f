#!/bin/sh
# Runs once inside the new root folder (chroot): makes a general Debian into a lab that boots fast and surprises nobody.
# Arguments: the kernel's version.
set -eu
export LC_ALL=C
kernel=$1

echo raidtui-lab >/etc/hostname
printf '127.0.0.1 localhost\n127.0.1.1 raidtui-lab\n' >/etc/hosts
printf '/dev/vda / ext4 rw,noatime,errors=remount-ro 0 0\n' >/etc/fstab
: >/etc/resolv.conf
: >/etc/machine-id
rm -f /etc/ssh/ssh_host_*
ssh-keygen -q -t ed25519 -N '' -C raidtui-lab -f /etc/ssh/ssh_host_ed25519_key

# The package manager's list of trusted sources is of no use without a network; the disk it fills is.
rm -rf /usr/share/doc /usr/share/man /usr/share/info /usr/share/locale /usr/share/i18n /usr/share/lintian \
    /usr/share/bash-completion /var/lib/apt/lists /var/cache/apt /usr/lib/firmware
mkdir -p /var/lib/apt/lists /var/cache/apt

# Drivers of hardware that QEMU is not asked for. Storage, RDMA and network storage stay.
modules=/usr/lib/modules/$kernel/kernel
(cd "$modules/drivers" && rm -rf accel bluetooth comedi gpu hid hwmon i2c iio input isdn leds media mfd misc mmc mtd \
    platform power pwm rtc spi soundwire staging thunderbolt usb video watchdog)
rm -rf "$modules/sound" "$modules/net/bluetooth" "$modules/net/mac80211" "$modules/net/wireless" "$modules/arch/x86/kvm"
find "$modules/drivers/net" -mindepth 1 -maxdepth 1 ! -name 'virtio_net*' ! -name 'net_failover*' ! -name 'veth*' \
    ! -name 'dummy*' -exec rm -rf {} +
# An emulated processor unpacks slowly what the host unpacks once.
find "/usr/lib/modules/$kernel" -name '*.ko.xz' -print0 | xargs -0 -r -n 64 -P 2 unxz
depmod "$kernel"

# Jobs that a server runs now and then would disturb a measurement or slow the boot; nothing here touches what md, LVM,
# ZFS or udev do with disks.
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
    fstrim.timer xfs_scrub_all.timer mdcheck_start.timer mdcheck_continue.timer sysstat-collect.timer \
    sysstat-rotate.timer sysstat-summary.timer sysstat.service smartmontools.service systemd-tmpfiles-clean.timer \
    getty@tty1.service getty.target console-getty.service serial-getty@ttyS0.service getty-static.service \
    nvmefc-boot-connections.service nvmf-autoconnect.service uuidd.socket systemd-pstore.service \
    systemd-hwdb-update.service ldconfig.service systemd-journal-catalog-update.service systemd-update-done.service \
    systemd-firstboot.service systemd-binfmt.service proc-sys-fs-binfmt_misc.automount sys-fs-fuse-connections.mount \
    systemd-hibernate-clear.service systemd-machine-id-commit.service systemd-random-seed.service \
    systemd-tpm2-setup.service systemd-tpm2-setup-early.service systemd-pcrphase.service \
    systemd-pcrphase-sysinit.service systemd-pcrmachine.service systemd-battery-check.service \
    systemd-logind.service systemd-journal-flush.service remote-fs.target sshd-keygen.service \
    zfs-mount.service zfs-share.service zfs-volume-wait.service \
    postgresql.service \
    open-iscsi.service rtslib-fb-targetctl.service rdma-ndd.service; do
    ln -sf /dev/null "/etc/systemd/system/$unit"
done
systemctl enable lab-net.service lab-links.service >/dev/null 2>&1
systemctl set-default multi-user.target >/dev/null 2>&1

mkdir -p /opt/raidtui /root/.ssh
chmod 0700 /root/.ssh
chmod 0600 /root/.ssh/authorized_keys
/usr/bin/python3 -m compileall -q /usr/local/lib/python3.13/dist-packages || true
