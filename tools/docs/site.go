package main

func writeSite(root, out string) error { return nil }
