package fingerprint

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// everyLine puts what format gives for a line's number in front of each line.
func everyLine(format func(n int) string) func(string) string {
	return func(s string) string { return prefixed(s, format) }
}

// shippers are prefixes that log collectors put in front of every line, with
// what varies from one line to the next varying.
var shippers = map[string]func(n int) string{
	"docker compose":              func(int) string { return "parser-1  | " },
	"docker compose, timestamped": func(n int) string { return fmt.Sprintf("parser-1  | 2026-02-11T09:42:%02d.%09dZ ", n, n*1313) },
	"kubernetes, as CRI writes it": func(n int) string {
		return fmt.Sprintf("2026-02-11T09:42:13.%09d+00:00 stderr F ", 1000*n)
	},
	"kubectl with the pod's name": func(int) string { return "[pod/parser-7d9f8b6c5-x2x7k/parser] " },
	"syslog":                      func(n int) string { return fmt.Sprintf("Feb %2d 09:42:%02d worker-3 ingest[812]: ", 9+n%3, n) },
	"systemd's journal":           func(n int) string { return fmt.Sprintf("Feb 11 09:42:13.%06d worker-3 ingest.sh[812]: ", n) },
	"RFC 5424 syslog":             func(n int) string { return fmt.Sprintf("<11>1 2026-02-11T09:42:%02dZ worker-3 ingest 812 - - ", n) },
	"Airflow": func(n int) string {
		return fmt.Sprintf("[2026-02-11, 09:42:%02d UTC] {taskinstance.py:1937} ERROR - ", n)
	},
	"Airflow, in ISO time": func(n int) string {
		return fmt.Sprintf("[2026-02-11T09:42:%02d.%03d+0000] {standard_task_runner.py:%d} INFO - ", n, n, 90+n)
	},
	"Airflow's subtask": func(n int) string {
		return "[2026-02-11 09:42:13,511] {base_task_runner.py:101} INFO - Job 7: Subtask parse "
	},
	"Celery":                        func(n int) string { return fmt.Sprintf("[2026-02-11 09:42:13,%03d: WARNING/ForkPoolWorker-%d] ", n, 4) },
	"log4j":                         func(n int) string { return "2026-02-11 09:42:13,511 ERROR [pool-1-thread-3] com.example.Worker - " },
	"heroku":                        func(n int) string { return fmt.Sprintf("2026-02-11T09:42:%02d.511000+00:00 app[worker.1]: ", n) },
	"CloudWatch":                    func(n int) string { return fmt.Sprintf("17707%08d ", n*17) },
	"a CI runner":                   func(n int) string { return fmt.Sprintf("#12 %d.%03d ", n, n*31%1000) },
	"Windows time and a level":      func(n int) string { return "11/02/2026 09:42:13 | ERROR | " },
	"mail quotation":                func(int) string { return "> " },
	"a bullet of a numbered viewer": func(n int) string { return fmt.Sprintf("%5d: ", n+1) },
}

func TestWhatAShipperPutsBeforeEachLineDoesNotCount(t *testing.T) {
	for shipper, format := range shippers {
		for language, trace := range traces {
			if dressed := everyLine(format)(trace); ofTrace(dressed).Digest != ofTrace(trace).Digest {
				t.Errorf("%s, %s:\n%s\nbare:\n%s", shipper, language, ofTrace(dressed).Canonical, ofTrace(trace).Canonical)
			}
		}
	}
}

func TestWhatALoggerPutsBeforeTheFirstLineDoesNotCount(t *testing.T) {
	for _, first := range []string{
		"2026-02-11 09:42:13,511 ERROR [main] com.example.Worker - parse failed\n",
		"[2026-02-11 09:42:13,677: ERROR/ForkPoolWorker-4] Task ingest.parse[7f458ea1-6b7d-488a-9839-17f7fa83bbfa] raised unexpected: HeaderError('bad magic')\n",
		"[2026-02-11T09:42:13.511+0000] {taskinstance.py:1824} ERROR - Task failed with exception\n",
		"ERROR:root:parse failed\n", "2026/02/11 09:42:13 parse failed\n", "Feb 11 09:42:13 worker-3 ingest[812]: parse failed\n",
		"level=error ts=2026-02-11T09:42:13Z msg=\"parse failed\"\n", "\n\n   \n",
	} {
		for language, trace := range traces {
			if got := ofTrace(first + trace); got.Digest != ofTrace(trace).Digest {
				t.Errorf("%q, %s:\n%s\nbare:\n%s", first, language, got.Canonical, ofTrace(trace).Canonical)
			}
		}
	}
}

func TestWhatALoggerPutsOnTheFirstLineDoesNotCount(t *testing.T) {
	for _, first := range []string{
		"2026-02-11 09:42:13,511 ERROR [main] com.example.Worker - ", "[2026-02-11T09:42:13.511Z] ERROR: ", "error: ", "ERROR parse failed: ",
		"2026/02/11 09:42:13 ", "Feb 11 09:42:13 worker-3 ingest[812]: ", "09:42:13.511 [worker-3] ERROR c.e.Worker - parse failed ",
	} {
		for language, trace := range traces {
			if got := ofTrace(first + trace); got.Digest != ofTrace(trace).Digest {
				t.Errorf("%q, %s:\n%s\nbare:\n%s", first, language, got.Canonical, ofTrace(trace).Canonical)
			}
		}
	}
}

func TestWhatIsLoggedAfterwardsDoesNotCount(t *testing.T) {
	for _, after := range []string{
		"2026-02-11 09:42:14,003 INFO [main] com.example.Worker - next document\n", "\nNode.js v20.11.0\n", "exit status 2\n",
		"[2026-02-11T09:42:14.003+0000] {local_task_job.py:151} INFO - Task exited with return code 1\n",
	} {
		for language, trace := range traces {
			if got := ofTrace(trace + after); got.Digest != ofTrace(trace).Digest {
				t.Errorf("%q, %s:\n%s\nbare:\n%s", after, language, got.Canonical, ofTrace(trace).Canonical)
			}
		}
	}
}

type object = map[string]any

// envelopes are the JSON that loggers and collectors put round a trace.
var envelopes = map[string]func(trace string) any{
	"logstash": func(s string) any {
		return object{"@timestamp": "2026-02-11T09:42:13Z", "level": "ERROR", "logger_name": "c.e.W", "message": "parse failed", "stack_trace": s}
	},
	"ECS, nested": func(s string) any {
		return object{"message": "parse failed", "error": object{"type": "x", "message": "bad", "stack_trace": s}}
	},
	"ECS, dotted": func(s string) any {
		return object{"message": "parse failed", "error.message": "bad", "error.stack_trace": s}
	},
	"exception.stacktrace": func(s string) any {
		return object{"message": "parse failed", "exception": object{"exception_class": "X", "exception_message": "bad", "stacktrace": s}}
	},
	"exception with its text": func(s string) any { return object{"msg": "parse failed", "exception": "HeaderError", "exc_text": s} },
	"OpenTelemetry": func(s string) any {
		return object{"body": "parse failed", "attributes": object{"exception.type": "X", "exception.message": "bad", "exception.stacktrace": s}}
	},
	"OpenTelemetry span event": func(s string) any {
		return object{"name": "parse", "events": []any{object{"name": "exception", "attributes": object{"exception.stacktrace": s}}}}
	},
	"GCP text": func(s string) any { return object{"insertId": "1a", "severity": "ERROR", "textPayload": s} },
	"GCP JSON": func(s string) any {
		return object{"insertId": "1a", "jsonPayload": object{"message": s, "serviceContext": object{"service": "x"}}}
	},
	"Azure": func(s string) any {
		return object{"baseData": object{"exceptions": []any{object{"typeName": "X", "message": "bad", "stack": s}}}}
	},
	"pino and bunyan": func(s string) any {
		return object{"level": 50, "pid": 3, "msg": "parse failed", "err": object{"type": "X", "message": "bad", "stack": s}}
	},
	"winston":   func(s string) any { return object{"level": "error", "message": "parse failed", "stack": s} },
	"structlog": func(s string) any { return object{"event": "parse failed", "level": "error", "exception": s} },
	"loguru": func(s string) any {
		return object{"text": s, "record": object{"level": object{"name": "ERROR"}, "message": "parse failed", "exception": object{"type": "X", "value": "bad", "traceback": true}}}
	},
	"python-json-logger":   func(s string) any { return object{"message": "parse failed", "exc_info": s} },
	"serilog":              func(s string) any { return object{"@t": "2026-02-11T09:42:13Z", "@mt": "parse {Doc} failed", "@x": s} },
	"a list of lines":      func(s string) any { return object{"error": object{"traceback": strings.SplitAfter(s, "\n")}} },
	"fluentd round docker": func(s string) any { return object{"log": s, "stream": "stderr", "kubernetes": object{"pod_name": "x"}} },
	"a queue's own record": func(s string) any {
		return object{"id": 7, "payload": object{"document": "a.pdf"}, "failure": object{"attempts": 3, "last_error": object{"name": "X", "detail": s}}}
	},
	"a list with one record": func(s string) any { return []any{object{"error": object{"stack": s}}} },
}

func TestJSONRoundATraceDoesNotCount(t *testing.T) {
	for envelope, wrap := range envelopes {
		for language, trace := range traces {
			bare := ofTrace(trace)
			for how, text := range map[string]string{
				"compact":                 jsonOf(t, wrap(trace)),
				"after a log line's head": "2026-02-11T09:42:13Z ERROR " + jsonOf(t, wrap(trace)),
				"as a string in JSON":     jsonOf(t, object{"message": jsonOf(t, wrap(trace))}),
				"escaped twice":           jsonOf(t, wrap(strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(trace, `\`, `\\`), "\t", `\t`), "\n", `\n`))),
			} {
				if got := ofTrace(text); got.Digest != bare.Digest {
					t.Errorf("%s, %s, %s:\n%s\nbare:\n%s", envelope, how, language, got.Canonical, bare.Canonical)
				}
			}
		}
	}
}

func TestAFieldWithFramesIsPreferredToOneThatOnlyNamesTheException(t *testing.T) {
	text := jsonOf(t, object{"stack": "parser", "exception": "HeaderError", "message": "parse failed", "details": object{"text": nodeTrace}})
	wantSame(t, nodeTrace, text)
}

// pythonRepr writes a string as Python's repr does.
func pythonRepr(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`).Replace(s) + "'"
}

func TestQuotationIsUndone(t *testing.T) {
	lines := func(s string) string {
		var quoted []string
		for line := range strings.Lines(s) {
			quoted = append(quoted, pythonRepr(line))
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	for how, quote := range map[string]func(string) string{
		"Python's repr":          pythonRepr,
		"Python's repr of bytes": func(s string) string { return "b" + pythonRepr(s) },
		"JSON in Python's repr":  func(s string) string { return pythonRepr(jsonOf(t, object{"stack": s})) },
		"Python's repr in JSON":  func(s string) string { return jsonOf(t, object{"stack": pythonRepr(s)}) },
		"JSON in JSON in JSON": func(s string) string {
			return jsonOf(t, object{"log": jsonOf(t, object{"message": jsonOf(t, object{"stack_trace": s})})})
		},
		"a Go %q":                          strconv.Quote,
		"a list of lines in Python's repr": lines,
		"that list after a log's head":     func(s string) string { return "2026-02-11 09:42:13,511 run DEBUG - " + lines(s) },
		"a field of logfmt": func(s string) string {
			return "time=\"2026-02-11T09:42:13Z\" level=error msg=\"parse failed\" stack=" + strconv.Quote(s)
		},
	} {
		for language, trace := range traces {
			if got := ofTrace(quote(trace)); got.Digest != ofTrace(trace).Digest {
				t.Errorf("%s, %s:\n%s\nbare:\n%s", how, language, got.Canonical, ofTrace(trace).Canonical)
			}
		}
	}
}

func TestPagesRoundATraceDoNotCount(t *testing.T) {
	for page, dress := range map[string]func(string) string{
		"Tomcat's error page": func(s string) string {
			return "<!doctype html><html lang=\"en\"><head><title>HTTP Status 500 – Internal Server Error</title></head><body><h1>HTTP Status 500</h1><p><b>Exception</b></p><pre>" + html.EscapeString(s) + "</pre><p><b>Note</b> The full stack trace is available in the server logs.</p></body></html>"
		},
		"Werkzeug's page ends in a comment": func(s string) string {
			return "<!doctype html>\n<html lang=en>\n  <head>\n    <title>HeaderError // Werkzeug Debugger</title>\n  </head>\n<body>\n<h1>HeaderError</h1>\n</body>\n</html>\n\n<!--\n\n" + s + "\n\n-->\n"
		},
		"a page with line breaks": func(s string) string {
			return "<p>" + strings.ReplaceAll(html.EscapeString(strings.TrimSuffix(s, "\n")), "\n", "<br>") + "</p>"
		},
		"a page with both": func(s string) string {
			return "<pre>" + strings.ReplaceAll(html.EscapeString(s), "\n", "<br/>\n") + "</pre>"
		},
		"non-breaking spaces": func(s string) string {
			return strings.ReplaceAll(strings.ReplaceAll(html.EscapeString(s), " ", "&nbsp;"), "\n", "<br />\n")
		},
		"escaped twice": func(s string) string {
			return "<pre>" + html.EscapeString(html.EscapeString(s)) + "</pre>"
		},
		"Markdown": func(s string) string { return "The job failed:\n\n```\n" + s + "```\n" },
	} {
		for language, trace := range traces {
			if got := ofTrace(dress(trace)); got.Digest != ofTrace(trace).Digest {
				t.Errorf("%s, %s:\n%s\nbare:\n%s", page, language, got.Canonical, ofTrace(trace).Canonical)
			}
		}
	}
}

func TestSentrysEventIsReadAsTheTraceItStandsFor(t *testing.T) {
	frame := func(function, file, module string, line int) object {
		return object{"function": function, "filename": file, "abs_path": "/srv/" + file, "module": module, "lineno": line, "colno": 9}
	}
	event := func(platform, typ string, frames ...any) string {
		return jsonOf(t, object{"event_id": "9f2a", "platform": platform, "exception": object{"values": []any{
			object{"type": typ, "value": "bad magic", "stacktrace": object{"frames": frames}}}}})
	}
	wantFrames(t, ofTrace(event("python", "HeaderError", frame("run", "worker.py", "worker", 41), frame("parse", "invoices/header.py", "invoices.header", 12))), "parse@header.py", "run@worker.py")
	wantFrames(t, ofTrace(event("node", "HeaderError", frame("run", "worker.js", "worker", 41), frame("Header.parse", "header.js", "header", 12))), "parse@header.js", "run@worker.js")
	wantFrames(t, ofTrace(event("java", "HeaderException", frame("run", "Worker.java", "com.example.Worker", 41), frame("parse", "Header.java", "com.example.Header", 12))), "parse@com.example.Header", "run@com.example.Worker")
	r := ofTrace(event("python", "HeaderError", frame("run", "worker.py", "worker", 41)))
	if r.Type != "HeaderError" || r.Message != "bad magic" {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
}

func TestAwsLambdasRecordIsReadAsTheTraceItStandsFor(t *testing.T) {
	python := jsonOf(t, object{"errorType": "HeaderError", "errorMessage": "bad magic", "stackTrace": []string{
		"  File \"/var/task/worker.py\", line 41, in run\n    read(path)\n", "  File \"/opt/python/invoices/header.py\", line 12, in parse\n    raise HeaderError()\n"}})
	r := ofTrace(python)
	if r.Type != "HeaderError" || r.Message != "bad magic" {
		t.Errorf("type %q, message %q", r.Type, r.Message)
	}
	wantFrames(t, r, "parse@header.py", "run@worker.py")
	node := jsonOf(t, object{"errorType": "HeaderError", "errorMessage": "bad magic", "trace": []string{
		"HeaderError: bad magic", "    at parse (/var/task/header.js:12:9)", "    at run (/var/task/worker.js:41:3)"}})
	wantFrames(t, ofTrace(node), "parse@header.js", "run@worker.js")
	java := jsonOf(t, object{"errorType": "com.example.HeaderException", "errorMessage": "bad magic", "stackTrace": []string{
		"com.example.Header.parse(Header.java:12)", "com.example.Worker.run(Worker.java:41)"}})
	r = ofTrace(java)
	if r.Type != "HeaderException" {
		t.Errorf("type %q", r.Type)
	}
	wantFrames(t, r, "parse@com.example.Header", "run@com.example.Worker")
}

func TestAStackFieldWithoutAHeadingIsNamedByItsRecord(t *testing.T) {
	stack := goTrace[strings.Index(goTrace, "example.com/invoices.(*Header)"):]
	r := ofTrace(jsonOf(t, object{"level": "error", "ts": 1.5, "caller": "srv/main.go:41", "msg": "parse failed", "error": "bad magic 0x0001 at 512", "stacktrace": stack}))
	wantFrames(t, r, "invoices.(*Header).parse@example.com/invoices", "invoices.Read@example.com/invoices", "main.run@main")
	if r.Message != "bad magic 0x0001 at 512" {
		t.Errorf("message %q", r.Message)
	}
}

func TestStepsSayWhatWasTakenOff(t *testing.T) {
	dressed := strings.ReplaceAll(everyLine(shippers["docker compose"])("\x1b[31m"+pythonTrace), "\n", "\r\n")
	want := []string{"line ends unified", "terminal colours removed", "log prefix cut from each line"}
	if got := ofTrace(dressed).Steps; !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
}
