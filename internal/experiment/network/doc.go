// Package network measures between two ends: pairs of clients and servers, and what groups of loads take from each
// other.
package network
