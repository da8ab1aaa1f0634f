// Package ladder climbs from the parts of a host's storage to the whole, rung by rung, and finds the first rung that
// does not reach what those below it promise. It is pure: values of repetitions that were measured in blocks over all
// rungs in, a document with the answer out.
package ladder
