// Package redrive sends documents back to their pipelines, and takes in what
// came of it: which entries of a request go and which are left out and why
// (Planner), when each goes and with which bytes (Runner), and what its pipeline
// reports (Reporter). What an event does to an entry is decided by the rules of
// dlq and done by the store in one transaction; how a delivery travels, and how
// a source is asked for its document, is left to whoever is handed in.
package redrive
