// Package factstest has machines for tests of collectors: saved ones, trees in memory, a few files, and ways to look
// at the facts that were found.
package factstest
