package pipeline

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
)

// The environment variables that OptionsFrom reads. What must stay secret has no
// flag, because every user of a machine can read the arguments of its processes.
const (
	EnvServer = "DLO_PIPELINE_SERVER"
	EnvToken  = "DLO_PIPELINE_TOKEN"
	EnvSecret = "DLO_PIPELINE_SECRET" // whsec_…, or two with a blank between
	EnvFolder = "DLO_PIPELINE_DOCUMENTS"
	EnvData   = "DLO_PIPELINE_DATA"
	EnvListen = "DLO_PIPELINE_LISTEN"
	EnvSeed   = "DLO_PIPELINE_SEED"
)

// OptionsFrom reads the options from flags (without the program's name) and,
// where a flag is not given, from the environment. Logs go to stderr, as text.
func OptionsFrom(args []string, getenv func(string) string, stderr io.Writer) (Options, error) {
	o := Options{Token: getenv(EnvToken), Secrets: strings.Fields(getenv(EnvSecret))}
	flags := flag.NewFlagSet("samplepipeline", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.ServerURL, "server", getenv(EnvServer), "address of the dead letter office, as http://127.0.0.1:8080 ("+EnvServer+")")
	flags.StringVar(&o.Folder, "documents", getenv(EnvFolder), "folder of the documents; made if it is not there ("+EnvFolder+")")
	flags.StringVar(&o.Data, "data", getenv(EnvData), "folder of the pipeline's own database and spool ("+EnvData+")")
	flags.StringVar(&o.Listen, "listen", getenv(EnvListen), "address to listen on, default 127.0.0.1:0 ("+EnvListen+")")
	seed := flags.String("seed", getenv(EnvSeed), "seed of the documents, default 1 ("+EnvSeed+")")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "samplepipeline runs the sample pipeline.\nThe token stands in %s, the webhook secret in %s.\n", EnvToken, EnvSecret)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return Options{}, err
	}
	if flags.NArg() > 0 {
		return Options{}, fmt.Errorf("argument %q is not understood", flags.Arg(0))
	}
	if *seed != "" {
		n, err := strconv.ParseUint(*seed, 10, 64)
		if err != nil {
			return Options{}, fmt.Errorf("--seed %q: a whole number, 0 or more, expected", *seed)
		}
		o.Seed = n
	}
	if u, err := url.Parse(o.ServerURL); err != nil || u.Host == "" {
		return Options{}, errors.New("--server or " + EnvServer + ": an address as http://127.0.0.1:8080 expected")
	}
	o.Log = slog.New(slog.NewTextHandler(stderr, nil))
	return o, nil
}

// Environ gives the options as environment variables, for a parent that starts
// the pipeline as a child of its own.
func (o Options) Environ() []string {
	env := []string{EnvServer + "=" + o.ServerURL, EnvToken + "=" + o.Token, EnvSecret + "=" + strings.Join(o.Secrets, " "),
		EnvFolder + "=" + o.Folder, EnvData + "=" + o.Data, EnvListen + "=" + o.Listen}
	if o.Seed != 0 {
		env = append(env, EnvSeed+"="+strconv.FormatUint(o.Seed, 10))
	}
	return env
}
