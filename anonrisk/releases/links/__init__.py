"""Tables that are published together: whom a join singles out."""
