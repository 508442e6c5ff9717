"""The box: hosts, links and drives of known service time for a real store on one machine."""
