"""Full-domain plans: the lattice of offered recodings, each for a whole column."""
