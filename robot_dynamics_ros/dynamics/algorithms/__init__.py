"""One algorithm a file, in the notation of Featherstone's book, on any kind of scalar."""
