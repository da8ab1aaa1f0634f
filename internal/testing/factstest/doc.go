// Package factstest provides machines for tests of collectors: saved ones, trees in memory, a few files, and ways to
// check the collected facts.
package factstest
