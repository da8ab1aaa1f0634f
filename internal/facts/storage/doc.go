// Package storage reads block devices: how they are stacked, what disks and volumes tell of themselves, and the
// file systems on them.
package storage
