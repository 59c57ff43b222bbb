package fingerprint

import (
	"strings"
	"unicode"
)

// dotnet reads what Exception.ToString prints on .NET Framework, .NET, Mono and
// IL2CPP, in any display language of the runtime, with the variants of ASP.NET
// error pages and of loggers that print signatures as source code.
//
// Types are not translated, messages are: a message joins a key only where the
// type is missing or a catch-all.
var dotnet = language{
	name:        "dotnet",
	hints:       []string{"dotnet", ".net", "csharp", "c#", "cs", "vb", "vb.net", "fsharp", "f#", "mono"},
	counts:      func(line string) bool { return dotnetFrame(line) != nil },
	frame:       func(lines []string, i int) *frame { return dotnetFrame(lines[i]) },
	belongs:     dotnetSeparates,
	parse:       parseDotnet,
	noise:       dotnetNoise,
	library:     dotnetLibrary,
	transparent: func(e *exception) bool { return dotnetWrappers[lastSegment(e.typ)] },
	// Message and frames alone are a common way to log: the reporter may know more.
	bare:          func(e *exception) bool { return e.typ == "" },
	generic:       set("Exception", "ApplicationException", "SystemException"),
	identifier:    dotnetMissing,
	stackOverflow: set("StackOverflowException", "InsufficientExecutionStackException"),
	overflowText:  "Stack overflow.",
	clean:         cleanDotnet,
}

var dotnetWrappers = set("AggregateException", "TargetInvocationException", "TypeInitializationException", "JobPerformanceException")

var (
	dotnetNoisePrefixes = []string{
		"System.Threading.Tasks.", "System.Runtime.CompilerServices.TaskAwaiter", "System.Runtime.CompilerServices.ConfiguredTaskAwaitable",
		"System.Runtime.CompilerServices.ValueTaskAwaiter", "System.Runtime.CompilerServices.ConfiguredValueTaskAwaitable", "System.Runtime.CompilerServices.AsyncMethodBuilder",
		"System.Runtime.ExceptionServices.ExceptionDispatchInfo.", "System.Threading.ExecutionContext.", "System.RuntimeMethodHandle.", "System.Reflection.RuntimeMethodInfo.",
		"System.Reflection.MethodBase.", "System.Reflection.MethodBaseInvoker.", "System.Reflection.MethodInvoker.", "System.Reflection.RuntimeConstructorInfo.", "System.Reflection.ConstructorInvoker.",
		"System.RuntimeType.CreateInstance", "System.Activator.", "System.Environment.FailFast", "System.ArgumentNullException.Throw", "System.ArgumentException.Throw",
		"System.ArgumentOutOfRangeException.Throw", "System.ObjectDisposedException.Throw",
	}
	dotnetHelpers = set("ThrowHelper", "ThrowHelpers", "Throw", "Thrower", "Guard", "Requires", "Assumes", "Verify", "Contract", "Ensure", "ExceptionHelper", "ThrowUtils")
)

func dotnetNoise(f frame) bool {
	if startsWithAny(f.Unit+"."+f.Function, dotnetNoisePrefixes) {
		return true
	}
	class, method, _ := strings.Cut(f.Function, ".")
	return dotnetHelpers[class] || strings.Contains(class, "ThrowHelper") || strings.Contains(method, "HandleNonSuccess")
}

var dotnetLibraryPrefixes = []string{
	"System.", "Microsoft.", "MS.", "Mono.", "Windows.", "Interop.", "Internal.", "FSharp.", "Newtonsoft.", "NuGet.", "Serilog.", "NLog.", "log4net.", "Castle.", "Autofac.",
	"AutoMapper.", "Dapper.", "Npgsql.", "MySql.", "Oracle.", "StackExchange.", "RabbitMQ.", "MassTransit.", "Hangfire.", "Quartz.", "Polly.", "MediatR.", "Grpc.", "Google.", "Amazon.",
	"iTextSharp.", "iText.", "UglyToad.", "PdfSharp.", "PdfSharpCore.", "MigraDoc.", "ClosedXML.", "OfficeOpenXml.", "DocumentFormat.", "NPOI.", "Aspose.", "Spire.", "Syncfusion.", "DevExpress.", "Telerik.",
	"MimeKit.", "MailKit.", "SharpCompress.", "ICSharpCode.", "Ionic.", "SixLabors.", "SkiaSharp.", "ImageMagick.", "CsvHelper.", "ExcelDataReader.", "HtmlAgilityPack.", "AngleSharp.", "Tesseract.", "Docnet.", "QuestPDF.",
}

func dotnetLibrary(f frame) bool {
	return startsWithAny(f.Unit+"."+f.Function, dotnetLibraryPrefixes) || strings.HasPrefix(f.Function, "lambda_method")
}

// dotnetSeparates says that a line is one of the separators between frames,
// "--- End of … ---" in any language.
func dotnetSeparates(line string) bool {
	t := strings.TrimSpace(line)
	return len(t) > 8 && strings.HasPrefix(t, "---") && strings.HasSuffix(t, "---") && !strings.HasPrefix(t, "--->") && strings.ContainsFunc(t, unicode.IsLetter)
}
