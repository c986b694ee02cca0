// crdify, the program and its library, in one binary of ours: with file arguments it is the command as CI runs it; with "serve" it compares the
// pairs it reads from standard input, each many times, and answers with the CPU time of one comparison and what came of it.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"syscall"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/crdify/cli"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
)

type task struct {
	Old        string `json:"old"`
	New        string `json:"new"`
	Iterations int    `json:"iterations"`
}

type answer struct {
	Nanoseconds int64           `json:"nanoseconds"`
	Breaking    bool            `json:"breaking"`
	Report      json.RawMessage `json:"report,omitempty"`
	Error       string          `json:"error,omitempty"`
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "serve" {
		serve()
		return
	}
	if err := cli.NewRootCommand().Execute(); err != nil {
		log.Fatal(err)
	}
}

func serve() {
	configuration, err := config.Load("")
	if err != nil {
		log.Fatal(err)
	}
	comparison, err := runner.New(configuration, runner.DefaultRegistry())
	if err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var given task
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			log.Fatal(err)
		}
		answers.Encode(measure(comparison, given))
	}
}

// The files are read once; from their text to the report as JSON is what is measured.
func measure(comparison *runner.Runner, given task) answer {
	before, err := os.ReadFile(given.Old)
	if err != nil {
		return answer{Error: err.Error()}
	}
	after, err := os.ReadFile(given.New)
	if err != nil {
		return answer{Error: err.Error()}
	}
	var results *runner.Results
	var report string
	started := cpuNanoseconds()
	for iteration := 0; iteration < given.Iterations; iteration++ {
		left, right := &apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(before, left); err != nil {
			return answer{Error: err.Error()}
		}
		if err := yaml.Unmarshal(after, right); err != nil {
			return answer{Error: err.Error()}
		}
		results = comparison.Run(left, right)
		if report, err = results.Render(runner.FormatJSON); err != nil {
			return answer{Error: err.Error()}
		}
	}
	spent := (cpuNanoseconds() - started) / int64(given.Iterations)
	return answer{Nanoseconds: spent, Breaking: results.HasFailures(), Report: json.RawMessage(report)}
}

// Of all threads, the garbage collector's among them.
func cpuNanoseconds() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
