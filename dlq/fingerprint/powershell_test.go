package fingerprint

import (
	"strings"
	"testing"
)

const (
	psTrace = `Import-Excel : Cannot index into a null array.
At C:\Program Files\WindowsPowerShell\Modules\Sheets\2.1.0\Public\Import-Sheet.ps1:111 char:17
+                 $header = $row[$index].Name
+                 ~~~~~~~~~~~~~~~~~~~~~~~~~~~
    + CategoryInfo          : InvalidOperation: (:) [Import-Excel], RuntimeException
    + FullyQualifiedErrorId : NullArray

`
	psThrow = `Could not open the package /in/a.xlsx
At /opt/modules/Sheets/2.1.0/Public/Export-Sheet.ps1:127 char:17
+         catch { throw "Could not open the package $path" }
+                 ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
    + CategoryInfo          : OperationStopped: (Could not open ...e /in/a.xlsx:String) [], RuntimeException
    + FullyQualifiedErrorId : Could not open the package /in/a.xlsx
`
)

func TestPowerShellErrorsAreReadInEveryView(t *testing.T) {
	wantRead(t, "powershell", map[string]readAs{
		"classic": {psTrace, "RuntimeException", []string{"@Import-Sheet.ps1"}},
		"thrown":  {psThrow, "RuntimeException", []string{"@Export-Sheet.ps1"}},
		"German":  {changed(t, psTrace, "At C:", "In C:", "111 char:17", "111 Zeichen:17", "Cannot index into a null array", "Es ist nicht möglich, einen Index auf ein NULL-Array anzuwenden"), "RuntimeException", []string{"@Import-Sheet.ps1"}},
		"French":  {changed(t, psTrace, "At C:", "Au caractère C:", "111 char:17", "111 : 17"), "RuntimeException", []string{"@Import-Sheet.ps1"}},
		"Russian": {changed(t, psTrace, "At C:", "C:", "111 char:17", "111 знак:17"), "RuntimeException", []string{"@Import-Sheet.ps1"}},
		"Japanese, with the column on its own line": {changed(t, psTrace, "At C:", "発生場所 C:", "111 char:17", "111 \n文字:17"), "RuntimeException", []string{"@Import-Sheet.ps1"}},
		"a path broken by the console":              {changed(t, psTrace, `Sheets\2.1.0\Public\Import-Sheet.ps1`, "Sheets\\2.1.0\\Public\\Import-\nSheet.ps1"), "RuntimeException", []string{"@Import-Sheet.ps1"}},
		"a type broken by the console": {"New-Object : Exception calling \".ctor\" with \"1\" argument(s): \"Bad signature\"\nAt C:\\m\\Sheets.psm1:57 char:15\n+ ...       $xl = New-Object -TypeName Package -Argument ...\n+                 ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n    + CategoryInfo          : InvalidOperation: (:) [New-Object], MethodInvocationExce \n   ption\n    + FullyQualifiedErrorId : ConstructorInvokedThrowException,Microsoft.PowerShell.Commands.NewObjectCo\n   mmand\n",
			"MethodInvocationException", []string{"@Sheets.psm1"}},
		"concise":                         {"Exception: /srv/app/ingest.ps1:12\nLine |\n  12 |      throw \"no invoice in $path\"\n     |      ~~~~~~~~~~~~~~~~~~~~~~~~~~~\n     | no invoice in /in/a.pdf\n", "Exception", []string{"@ingest.ps1"}},
		"concise of an exception by name": {"MethodInvocationException: C:\\app\\ingest.ps1:7:1\nLine |\n   7 |  $doc.Open($path)\n     |  ~~~~~~~~~~~~~~~~\n     | Exception calling \"Open\" with \"1\" argument(s): \"The document is damaged\"\n", "MethodInvocationException", []string{"@ingest.ps1"}},
		"concise of a command":            {"New-Object: C:\\m\\Sheets\\7.1.0\\Public\\Open.ps1:34:35\nLine |\n  34 |  …  {$pkg = New-Object -TypeName Package -Argument …\n     |             ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n     | Exception calling \".ctor\" with \"1\" argument(s): \"Bad signature (0xEDBDC8FC)\"\n", "", []string{"@Open.ps1"}},
		"list with a script stack trace": {`Exception             : System.Management.Automation.RuntimeException: Cannot index into a null array.
TargetObject          : 
CategoryInfo          : InvalidOperation: (:) [], RuntimeException
FullyQualifiedErrorId : NullArray
ErrorDetails          : 
InvocationInfo        : System.Management.Automation.InvocationInfo
ScriptStackTrace      : at Get-Header<Process>, C:\m\Sheets.psm1: line 429
                        at Import-Sheet, C:\m\Sheets.psm1: line 500
                        at <ScriptBlock>, <No file>: line 1
PipelineIterationInfo : {}
`, "RuntimeException", []string{"Get-Header@Sheets.psm1", "Import-Sheet@Sheets.psm1", "<ScriptBlock>@<none>"}},
		"message and German script stack trace": {"System.IO.InvalidDataException: Das Dokument ist beschädigt\nbei Open-Doc, C:\\m\\Docs.psm1: Zeile 12\nbei <ScriptBlock>, C:\\app\\ingest.ps1: Zeile 3\n", "InvalidDataException", []string{"Open-Doc@Docs.psm1", "<ScriptBlock>@ingest.ps1"}},
		"Get-Error's view": {`
Exception             : 
    Type        : System.Management.Automation.RuntimeException
    ErrorRecord : 
        Exception             : 
            Type    : System.Management.Automation.ParentContainsErrorRecordException
            Message : no invoice
            HResult : -2146233087
        CategoryInfo          : OperationStopped: (no invoice:String) [], ParentContainsErrorRecordException
        FullyQualifiedErrorId : no invoice
        InvocationInfo        : 
            ScriptLineNumber : 3
            PositionMessage  : At /srv/app/ingest.ps1:3 char:5
                               +     throw "no invoice"
                               +     ~~~~~~~~~~~~~~~~~~
        ScriptStackTrace      : at Read-Invoice, /srv/app/ingest.ps1: line 3
                                at <ScriptBlock>, /srv/app/ingest.ps1: line 9
    Message     : no invoice
    HResult     : -2146233087
CategoryInfo          : OperationStopped: (no invoice:String) [], RuntimeException
FullyQualifiedErrorId : no invoice
`, "RuntimeException", []string{"Read-Invoice@ingest.ps1", "<ScriptBlock>@ingest.ps1"}},
		"with its signs taken for a list": {changed(t, psTrace, "    + Cat", "  - Cat", "    + Full", "  - Full", "+                 ~", "-                 ~"), "RuntimeException", []string{"@Import-Sheet.ps1"}},
		"behind a build's prefix":         {prefixed(psTrace, func(int) string { return "[ERROR] " }), "RuntimeException", []string{"@Import-Sheet.ps1"}},
	})
}

func TestPowerShellErrorIsTheSameInEveryLocale(t *testing.T) {
	wantSame(t, psTrace, changed(t, psTrace, "At C:", "In C:", "111 char:17", "119\nZeichen:17", "Cannot index into a null array", "Es ist nicht möglich, einen Index auf ein NULL-Array anzuwenden", "2.1.0", "2.2.1"))
	wantSame(t, psThrow, changed(t, psThrow, "/in/a.xlsx", "C:\\in\\b.xlsx", "At /opt", "In /srv"))
}

func TestPowerShellIdAndStatementTellErrorsOfOneFileApart(t *testing.T) {
	wantApart(t, psTrace, changed(t, psTrace, "NullArray", "InvokeMethodOnNull"))
	wantApart(t, psTrace, changed(t, psTrace, "$header = $row[$index].Name", "$footer = $end[$index].Name"))
	wantApart(t, psThrow, changed(t, psThrow, `throw "Could not open the package`, `throw "Could not save the package`))
}

func TestPowerShellIdThatCopiesTheMessageIsNotInTheKey(t *testing.T) {
	if c := ofTrace(psThrow).Canonical; strings.Contains(c, "/in/a.xlsx") || !strings.Contains(c, `msg=throw Could not open`) {
		t.Errorf("canonical text\n%s", c)
	}
}

func TestPowerShellCallIsToldByWhatTheLibrarySaidWhereThereIsNoId(t *testing.T) {
	const a = "MethodInvocationException: C:\\app\\ingest.ps1:7:1\nLine |\n   7 |  $doc.Open($path)\n     |  ~~~~~~~~~~~~~~~~\n     | Exception calling \"Open\" with \"1\" argument(s): \"Page 7 is\n     | damaged\"\n"
	wantApart(t, a, changed(t, a, "Page 7 is\n     | damaged", "The password is wrong"))
	wantSame(t, a, changed(t, a, "Page 7 is", "Page 19 is", "Exception calling \"Open\" with \"1\" argument(s)", "Ausnahme beim Aufrufen von \"Open\" mit 1 Argument(en)"))
}

func TestPowerShellErrorWithoutAPlaceIsItsId(t *testing.T) {
	const a = "Import-Sheet : Object reference not set to an instance of an object.\n    + CategoryInfo          : NotSpecified: (:) [], NullReferenceException\n    + FullyQualifiedErrorId : System.NullReferenceException\n"
	r := ofTrace(a)
	if r.Type != "NullReferenceException" || r.Message != "Object reference not set to an instance of an object." {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
	wantSame(t, a, changed(t, a, "Object reference not set to an instance of an object.", "La référence d'objet n'est pas définie à une instance d'un objet."))
	wantApart(t, a, changed(t, a, "System.NullReferenceException", "System.IO.IOException"))
}

func TestPowerShellFirstOfManyErrorsIsTheOne(t *testing.T) {
	wantSame(t, psTrace, psTrace+psThrow)
}

func TestPowerShellMessageIsWhatStandsAboveThePlace(t *testing.T) {
	if r := ofTrace(psTrace); r.Message != "Cannot index into a null array." {
		t.Errorf("message %q", r.Message)
	}
	r := ofTrace("Exception: /srv/app/ingest.ps1:12\nLine |\n  12 |      throw \"no\"\n     |      ~~~~~~~~~~\n     | no invoice\n     | in the mail\n")
	if r.Message != "no invoice" {
		t.Errorf("message %q", r.Message)
	}
}

func TestPowerShellCommandThatWasTypedHasAStatementButNoFile(t *testing.T) {
	const a = "PS C:\\> Import-Sheet C:\\in\\a.xlsx\nImport-Sheet : The term is not recognized.\nAt line:1 char:1\n+ Import-Sheet C:\\in\\a.xlsx\n+ ~~~~~~~~~~~~\n    + CategoryInfo          : ObjectNotFound: (Import-Sheet:String) [], CommandNotFoundException\n    + FullyQualifiedErrorId : CommandNotFoundException\n"
	r := ofTrace(a)
	if r.Message != "The term is not recognized." || r.Type != "CommandNotFoundException" || len(r.Frames) > 0 {
		t.Errorf("read as %q, message %q", r.Type, r.Message)
	}
	wantSame(t, a, changed(t, a, "At line:1 char:1", "Zeile:1 Zeichen:1", "The term is not recognized.", "Die Benennung wurde nicht erkannt."))
	wantApart(t, a, changed(t, a, "+ Import-Sheet C:", "+ Export-Sheet C:"))
}

func TestPowerShellLeavesOtherLanguagesTheirLines(t *testing.T) {
	for name, line := range map[string]string{
		"python":  "  File \"/srv/a.py\", line 3, in f",
		".net":    "   at Acme.Header.Parse(String name) in C:\\src\\Header.cs:line 12",
		"java":    "\tat com.example.A.b(A.java:3)",
		"node":    "    at f (/a/b.js:1:2)",
		"command": "pwsh -File C:\\app\\ingest.ps1",
		"gdb":     "#1 f () at a.c:3",
		"list":    "at last, <the end>: page 3",
	} {
		if psCounts(line) && name != "list" {
			t.Errorf("%s: taken for PowerShell: %q", name, line)
		}
	}
}
