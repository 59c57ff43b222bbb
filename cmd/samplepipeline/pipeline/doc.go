// Package pipeline is the sample pipeline of the demo and of the end-to-end
// tests: a document pipeline as anybody would write it. It reads documents from
// a folder, which it also serves over HTTP with validators, parses them with
// real libraries, parks what fails through the public client, takes redrives
// into a durable queue, and commits idempotently to its own table.
//
// What is wrong with the documents is really wrong with them, and what is wrong
// with the older parser is really in its code (parser_versions.go). The package
// leaves everything about dead letters to the server: it knows no cohort, no
// proof and no page of it.
package pipeline
