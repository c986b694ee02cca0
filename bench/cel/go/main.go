// The Go side of the benchmark: evaluates and compiles expressions with cel-go and with Kubernetes' environment, as often as
// the task says, and prints the CPU time. It reads the cases on its first line of input and a task on each further
// one, so that the two sides of a comparison can take turns on the same machine.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"syscall"

	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// Case is one expression with its object.
type Case struct {
	Expression string          `json:"expression"`
	Object     json.RawMessage `json:"object"`
}

// Task says what to do how often. Do is "evaluate" or "compile".
type Task struct {
	Engine     string `json:"engine"`
	Do         string `json:"do"`
	Case       int    `json:"case"`
	Iterations int    `json:"iterations"`
}

// Result of a task. Missing: the engine cannot do this case.
type Result struct {
	Nanoseconds int64  `json:"nanoseconds"`
	Missing     string `json:"missing,omitempty"`
}

// engine compiles an expression to something that can be run again and again.
type engine interface {
	compile(expression string) (func(object map[string]any) error, error)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	var cases []Case
	for lines.Scan() {
		if cases == nil {
			must(json.Unmarshal(lines.Bytes(), &cases))
			continue
		}
		var task Task
		must(json.Unmarshal(lines.Bytes(), &task))
		must(out.Encode(perform(task, cases[task.Case])))
	}
}

var engines = map[string]engine{"cel-go": newPlain(), "kubernetes": newKubernetes()}

func perform(task Task, subject Case) Result {
	chosen := engines[task.Engine]
	run, err := chosen.compile(subject.Expression)
	if err != nil {
		return Result{Missing: err.Error()}
	}
	// Another object each time, as an API server has.
	objects := [64]map[string]any{}
	for index := range objects {
		must(k8sjson.Unmarshal(subject.Object, &objects[index]))
	}
	if err := run(objects[0]); err != nil {
		return Result{Missing: err.Error()}
	}
	started := cpuTime()
	for iteration := range task.Iterations {
		if task.Do == "compile" {
			_, err = chosen.compile(renamed(subject.Expression, iteration))
		} else {
			err = run(objects[iteration%len(objects)])
		}
		must(err)
	}
	return Result{Nanoseconds: cpuTime() - started}
}

var field = regexp.MustCompile("spec|metadata")

// renamed has another field each time, so that no cache can help; the JavaScript side does the same.
func renamed(expression string, serial int) string {
	place := field.FindStringIndex(expression)
	return fmt.Sprintf("%s%d%s", expression[:place[1]], serial, expression[place[1]:])
}

// cpuTime of the whole process, its garbage collector included.
func cpuTime() int64 {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
