"""What a Ceph cluster's spec, devices and state make of every service demand."""
