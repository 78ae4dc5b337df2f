#!/bin/sh
# Runs once inside the new root folder (chroot): makes keys, and formats the monitor's store and three OSDs in files. The
# cluster's first start, in the guest, makes it know its OSDs (lab-ceph).
set -eu
export LC_ALL=C
cd /
fsid=$(sed -n 's/^fsid = //p' /etc/ceph/ceph.conf)
work=$(mktemp -d)
ceph=/var/lib/ceph
chmod 0755 /usr/local/sbin/lab-ceph
mkdir -p $ceph/mon/ceph-a $ceph/mgr/ceph-x $ceph/mgr/no-modules /var/log/ceph

# key FILE NAME CAPABILITY… : a key of its own, known to the monitor.
key() {
    file=$1 name=$2
    shift 2
    ceph-authtool --create-keyring "$file" --gen-key --name "$name" "$@" >/dev/null
    ceph-authtool "$work/all" --import-keyring "$file" >/dev/null
}
ceph-authtool --create-keyring "$work/all" --gen-key --name mon. --cap mon 'allow *' >/dev/null
key /etc/ceph/ceph.client.admin.keyring client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
# May use images of pools, and make no pool.
key /etc/ceph/ceph.client.images.keyring client.images --cap mon 'profile rbd' --cap osd 'profile rbd' --cap mgr 'profile rbd'
key $ceph/mgr/ceph-x/keyring mgr.x --cap mon 'allow profile mgr' --cap osd 'allow *'
for id in 0 1 2; do
    mkdir -p $ceph/osd/ceph-$id
    key $ceph/osd/ceph-$id/keyring osd.$id --cap mon 'allow profile osd' --cap mgr 'allow profile osd' --cap osd 'allow *'
done
chmod 0600 /etc/ceph/*.keyring

monmaptool --create --addv a '[v1:127.0.0.1:6789/0]' --fsid "$fsid" "$work/monmap" >/dev/null
ceph-mon --mkfs --id a --monmap "$work/monmap" --keyring "$work/all"
for id in 0 1 2; do
    ceph-osd --mkfs --id $id --osd-uuid 00000000-0000-0000-0000-00000000000$id --monmap "$work/monmap" --no-mon-config
done
rm -rf "$work"
chown -R ceph:ceph $ceph /var/log/ceph

# lab-ceph starts them in their order; a daemon that a test kills stays dead.
for daemon in mon mgr osd; do
    mkdir -p /etc/systemd/system/ceph-$daemon@.service.d
    printf '[Service]\nRestart=no\n' >/etc/systemd/system/ceph-$daemon@.service.d/lab.conf
done
systemctl enable lab-ceph.service >/dev/null 2>&1
for unit in ceph-crash.service rbdmap.service; do
    ln -sf /dev/null "/etc/systemd/system/$unit"
done
