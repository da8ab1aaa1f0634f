// Package importer saves other tools' results, and runs that headroom exported elsewhere, as runs of the store.
package importer
