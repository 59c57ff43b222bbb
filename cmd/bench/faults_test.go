package main

import "testing"

// The same run with 100,000 documents is `bench faults`.
func TestFaultsLoseNothingAndCommitNothingTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	if err := (faultsBench{Deliveries: 2000}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}
