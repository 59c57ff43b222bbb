package dlq_test

import (
	"strings"
	"testing"

	"dlo/dlq"
)

func TestACellThatBeginsLikeAFormulaIsText(t *testing.T) {
	var b strings.Builder
	out := dlq.NewCSV(&b)
	if err := out.Row("=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "＝1", "＋1", "－1", "＠x", "a\x00\xff", "plain", "", "a,\"b\"", "1=1"); err != nil {
		t.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	// A lone CR inside a cell is let go of by the writer, behind its apostrophe.
	want := "'=1+1,'+1,'-1,'@x,'\tx,\"'x\",\"'\r\nx\",'＝1,'＋1,'－1,'＠x,a��,plain,,\"a,\"\"b\"\"\",1=1\r\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
