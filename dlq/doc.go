// Package dlq is what a dead letter is: the nouns and the pure rules, with the
// standard library alone. It knows no database, no HTTP server and no page;
// those import it. What a word means is written down in docs/domain.md, and
// the same word is used in Go, SQL, URLs and on the screen.
package dlq
