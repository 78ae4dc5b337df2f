"""Charts of a comparison, drawn by matplotlib, which is imported when the first one is drawn.

matplotlib: well kept, less than half the size of its peers, draws both SVG and PNG without a browser, and Debian has it.
"""
