// Package storage reads block devices: how they are stacked, what disks and volumes tell of themselves, and the
// file systems on them. It finds the place under test: what a user points at, the block devices under it, and whether
// one place is on another.
package storage
