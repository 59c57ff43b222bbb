package fingerprint

import "testing"

func TestPythonIdentifiersSurviveTheInterpretersWording(t *testing.T) {
	own := []string{"main@/app/job.py", "load@" + lib + "tree.py"}
	for _, pair := range [][2]string{
		{"NameError: name 'pages' is not defined", "NameError: name 'pages' is not defined. Did you mean: 'page'?"},
		{"NameError: name 'os' is not defined", "NameError: name 'os' is not defined. Did you forget to import 'os'?"},
		{"ImportError: cannot import name 'Reader' from 'pdf' (/usr/lib/python3/site-packages/pdf/__init__.py)", "ImportError: cannot import name 'Reader' from 'pdf' (unknown location)"},
		{"ImportError: cannot import name 'Reader' from 'pdf' (/a/pdf/__init__.py)", "ImportError: cannot import name 'Reader' from partially initialized module 'pdf' (most likely due to a circular import) (/a/pdf/__init__.py)"},
		{"UnboundLocalError: local variable 'page' referenced before assignment", "UnboundLocalError: cannot access local variable 'page' where it is not associated with a value"},
		{"AttributeError: module 'pdf' has no attribute 'Reader'", "AttributeError: partially initialized module 'pdf' has no attribute 'Reader' (most likely due to a circular import)"},
		{"AttributeError: 'NoneType' object has no attribute 'pages'", "AttributeError: 'Document' object has no attribute 'pages'. Did you mean: 'page'?"},
		{"KeyError: 'INV-20231'", "KeyError: 'INV-20244'"},
		{"KeyError: (3, 0)", "KeyError: (12, 0)"},
		{"KeyError: 'Rechnung Nummer 7'", "KeyError: 'Rechnung Nummer 8'"},
	} {
		wantSame(t, pyBlockText(pair[0], own...), pyBlockText(pair[1], own...))
	}
	for _, pair := range [][2]string{
		{"NameError: name 'pages' is not defined", "NameError: name 'fonts' is not defined"},
		{"ImportError: cannot import name 'Reader' from 'pdf'", "ImportError: cannot import name 'Writer' from 'pdf'"},
		{"ModuleNotFoundError: No module named 'docx'", "ModuleNotFoundError: No module named 'docx.shared'"},
		{"UnboundLocalError: local variable 'page' referenced before assignment", "UnboundLocalError: local variable 'font' referenced before assignment"},
		{"KeyError: '/Root'", "KeyError: '/Pages'"},
		{"KeyError: \"There is no item named 'word/document.xml' in the archive\"", "KeyError: \"There is no item named 'xl/workbook.xml' in the archive\""},
	} {
		wantApart(t, pyBlockText(pair[0], own...), pyBlockText(pair[1], own...))
	}
}

func TestJavaScriptIdentifiersSurviveTheEnginesWording(t *testing.T) {
	at := "\n    at read (/srv/reader.js:1:2)\n    at run (/srv/reader.js:9:3)\n"
	for _, pair := range [][2]string{
		{"TypeError: Cannot read property 'pages' of undefined", "TypeError: Cannot read properties of undefined (reading 'pages')"},
		{"TypeError: Cannot set property 'pages' of null", "TypeError: Cannot set properties of null (setting 'pages')"},
	} {
		wantSame(t, pair[0]+at, pair[1]+at)
	}
	wantApart(t, "TypeError: Cannot read property 'pages' of undefined"+at, "TypeError: Cannot read property 'fonts' of undefined"+at)
	wantApart(t, "ReferenceError: pages is not defined"+at, "ReferenceError: fonts is not defined"+at)
}

func TestGenericTypesNeedTheirMessageAndOthersDoNot(t *testing.T) {
	at := []string{"main@/app/job.py", "load@" + lib + "tree.py"}
	for _, typ := range []string{"Exception", "RuntimeError", "AssertionError"} {
		wantApart(t, pyBlockText(typ+": no pages", at...), pyBlockText(typ+": no fonts", at...))
		wantSame(t, pyBlockText(typ+": page 7 is empty", at...), pyBlockText(typ+": page 12 is empty", at...))
	}
	wantSame(t, pyBlockText("pdf.Broken: no pages", at...), pyBlockText("pdf.Broken: no fonts", at...))
}

func TestConfidenceIsLowWhereTheCycleOrNothingIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		in   Input
		want string
	}{
		"two frames":               {Input{Trace: pyBlockText("pdf.Broken: x", "main@/app/job.py", "load@"+lib+"tree.py")}, ConfidenceMedium},
		"a generic type":           {Input{Trace: pyBlockText("RuntimeError: x", "main@/app/job.py", "a@"+lib+"a.py", "b@"+lib+"b.py")}, ConfidenceMedium},
		"a message alone":          {Input{ErrorType: "Broken", ErrorMessage: "x"}, ConfidenceLow},
		"a load-time stack, named": {Input{Trace: jsLoadTime("BaseExceptionClosure", "  name: 'PasswordException'\n")}, ConfidenceMedium},
		"structured rules":         {Input{Validation: `[{"loc":["a"],"msg":"x","type":"missing"}]`}, ConfidenceHigh},
		"sentences":                {Input{Validation: "a: is missing\n"}, ConfidenceMedium},
	} {
		if got := Of(c.in).Confidence; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
