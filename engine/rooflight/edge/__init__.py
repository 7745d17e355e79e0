"""The only room that touches files, the terminal and the network."""
