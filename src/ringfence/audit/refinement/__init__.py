"""What labels give away by being tight: values, and whole rows, that come out of a release although it hides them."""
