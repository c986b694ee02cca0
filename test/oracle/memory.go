package main

import (
	"fmt"
	"os"
	"runtime/metrics"
	"sync"
	"time"
)

// memoryLimit is what the oracle may take: an expression that wants more (lists.range makes its list before the cost is
// looked at) would take the machine with it.
const memoryLimit = 1 << 30

// exitTooLarge is the exit code that shows that the request without one wanted too much memory.
const exitTooLarge = 3

// watchMemory ends the process when it holds more than memoryLimit: an evaluation cannot be stopped from outside. `writing`
// guards the answers, `flush` sends those that are ready.
func watchMemory(writing *sync.Mutex, flush func()) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for range time.Tick(20 * time.Millisecond) {
		metrics.Read(sample)
		if sample[0].Value.Uint64() < memoryLimit {
			continue
		}
		writing.Lock()
		flush()
		fmt.Fprintf(os.Stderr, "oracle: an expression wants more than %d MB, giving it up\n", memoryLimit>>20)
		os.Exit(exitTooLarge)
	}
}
