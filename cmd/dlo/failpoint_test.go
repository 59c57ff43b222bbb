package main

import "testing"

func TestFailpointIsAStepAndAMomentOfIt(t *testing.T) {
	for _, c := range []struct {
		flag string
		ok   bool
	}{
		{"claim:before", true}, {"prepare:within", true}, {"settle:after:3", true}, {"send:before", true},
		{"send:within", false}, {"claim", false}, {"claim:later", false}, {"commit:before", false}, {"claim:before:0", false}, {"claim:before:x", false}, {"claim:before:1:2", false},
	} {
		f, err := parseFailpoint(c.flag)
		if (err == nil) != c.ok || (c.ok && f == nil) {
			t.Errorf("%q gives %v, %v", c.flag, f, err)
		}
	}
	if f, err := parseFailpoint(""); f != nil || err != nil {
		t.Errorf("no flag gives %v, %v: a server as people start it must have none", f, err)
	}
}
