// Package layers computes what each layer of a host's storage adds to what lies below it: latency, CPU time an
// operation, and what it takes from the rate. It is pure: values of repetitions that were measured in blocks over all
// layers in, a document out.
package layers
