// Package summary makes of a saved run what is published and shown of it. Of reads a run once, repetition by
// repetition, into the document with the schema headroom/run/v1, which has everything that the builders of documents
// need; it can be one side of a comparison, and without what names one piece of hardware or one host.
//
//   - What was not measured is absent. It is never a zero.
//   - Percentiles are never averaged. Where the repetitions have latency bins, a percentile covers all operations
//     of all repetitions together.
package summary
