"""What trials on several devices say: efficiency, communication, break-even, and what more devices would do."""
