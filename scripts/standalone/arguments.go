package main

import (
	"errors"
	"io"

	"attestry/config"
	"attestry/process/cli"
	"attestry/scripts/standalone/instance"
)

type arguments struct {
	data            string
	ephemeral, demo bool
	// acceptLoss opens a damaged database with what is left.
	acceptLoss bool
	// settings override the environment.
	settings []config.Flag
	// bootstrap is the bootstrap file that the settings name, "" for none.
	bootstrap string
}

// parse reads the command line. If done is true, the program ends with the status.
func parse(args []string, out, errs io.Writer) (a arguments, status int, done bool) {
	program := cli.NewProgram("standalone", "All of Attestry in one process, on Pebble, a Redis in memory and files.")
	data := program.String("data", "keep the data in `DIRECTORY`, else in attestry of the user's data folder")
	ephemeral := program.Bool("ephemeral", "keep the data in a temporary directory and remove it at the end")
	demo := program.Bool("demo", "play a delivery through the API, tell every step, and go on serving")
	acceptLoss := program.Bool("accept-loss", "start although files of the database are damaged or missing, with what is left")
	program.Setting("listen", "ATTESTRY_LISTEN", "answer the API on `HOST:PORT`")
	program.Setting("base-url", "ATTESTRY_BASE_URL", "build links from `URL`, a scheme and a host")
	program.Setting("monitor", "ATTESTRY_MONITOR_LISTEN", "answer /metrics, /healthz and /readyz on `HOST:PORT`")
	program.Setting("log-level", "ATTESTRY_LOG_LEVEL", "log to standard error from `LEVEL` up; info has a line for every request")
	program.Setting("bootstrap", "ATTESTRY_BOOTSTRAP_FILE", "apply a YAML `FILE` of users, organizations and keys instead of making some at the first start")
	program.Setting("mongodb", "ATTESTRY_DATABASE_URL", "use the MongoDB at `URI` instead of Pebble")
	program.Setting("s3", "ATTESTRY_OBJECTS_URL", "use the bucket at `URL`, http(s)://ACCESS:SECRET@host:port/bucket, instead of files")
	program.Setting("redis", "ATTESTRY_REDIS_URL", "use the Redis at `URL` instead of the one in memory")
	for variable, value := range defaults("", "") {
		program.Default(variable, value)
	}
	program.Default("ATTESTRY_DATABASE_URL", "Pebble in the data")
	program.Default("ATTESTRY_OBJECTS_URL", "files in the data")
	program.Default("ATTESTRY_REDIS_URL", "in memory")
	if _, status, done := program.Parse(args, out, errs); done {
		return arguments{}, status, true
	}
	if *ephemeral && *data != "" {
		return arguments{}, program.Misuse(errs, errors.New("--ephemeral and --data exclude each other")), true
	}
	return arguments{data: *data, ephemeral: *ephemeral, demo: *demo, acceptLoss: *acceptLoss, settings: program.Given()}, cli.Success, false
}

// defaults are embedded stores in the directory, no monitoring port that could be taken, and a log of faults.
func defaults(directory, database string) map[string]string {
	return map[string]string{
		"ATTESTRY_DATABASE_URL":   database,
		"ATTESTRY_OBJECTS_URL":    instance.Files(directory),
		"ATTESTRY_REDIS_URL":      "",
		"ATTESTRY_MONITOR_LISTEN": "off",
		"ATTESTRY_LOG_LEVEL":      "warn",
	}
}
