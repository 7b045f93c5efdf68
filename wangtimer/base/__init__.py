"""What every process uses: settings, logs, loops, the broker."""
