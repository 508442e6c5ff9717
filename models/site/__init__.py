"""What is known of a site whose spec is to be written: questions, values with their origins, files that answer them."""
