"""`rooflight snapshot` and `rooflight new`: a checkpoint's facts from hub or folder, and a first spec."""
