// Package db keeps everything but the payloads: all SQL and nothing but SQL and
// scanning. What an event does to an entry is decided by the rules in dlq; this
// package reads what they need to know, and writes what they decided, in one
// transaction. One writer takes whatever is queued and commits it together, so
// that an acknowledged record has been synced to the disk.
package db
