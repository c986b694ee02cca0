// The oracle: what the real CEL implementations say of an expression.
//
// In: requests, one JSON object a line. Out: an answer a line, in the same order. See README.md.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	// Time zones must not depend on the machine.
	_ "time/tzdata"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 1:
		serve()
	case len(os.Args) == 2 && os.Args[1] == "declarations":
		err = printDeclarations(os.Stdout)
	case len(os.Args) == 3 && os.Args[1] == "declarations" && os.Args[2] == "latest":
		err = printLatestDeclarations(os.Stdout)
	case len(os.Args) == 3 && os.Args[1] == "conformance":
		err = convertConformance(os.Args[2], os.Stdout)
	default:
		fmt.Fprintln(os.Stderr, "usage: oracle                        answers the requests on standard input\n"+
			"       oracle declarations [latest]  prints the functions and macros of an environment as JSON lines\n"+
			"       oracle conformance DIRECTORY  prints the cel-spec tests in DIRECTORY as JSON lines")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func serve() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	writing := &sync.Mutex{}
	go watchMemory(writing, func() { out.Flush() })
	for {
		line, readError := lines.ReadBytes('\n')
		if len(line) > 1 {
			answered := answer(line)
			writing.Lock()
			err := encoder.Encode(answered)
			// Answers wait in the buffer only while further requests are already there.
			if lines.Buffered() == 0 {
				out.Flush()
			}
			writing.Unlock()
			if err != nil {
				fmt.Fprintln(os.Stderr, "oracle:", err)
				os.Exit(1)
			}
		}
		if readError != nil {
			out.Flush()
			return
		}
	}
}

func answer(line []byte) (result *Answer) {
	var request Request
	if err := json.Unmarshal(line, &request); err != nil {
		return failed("request", err.Error())
	}
	defer func() {
		if panicked := recover(); panicked != nil {
			result = failed("panic", fmt.Sprint(panicked))
		}
		result.ID = request.ID
	}()
	switch request.Environment {
	case "", "kubernetes":
		return kubernetesAnswer(&request)
	case "latest":
		return latestAnswer(&request)
	default:
		return failed("request", "unknown environment "+request.Environment)
	}
}
