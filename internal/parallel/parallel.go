// Package parallel runs the tests of a package that waits more than it works.
package parallel

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Main is the TestMain of a package that needs no other.
func Main(m *testing.M, tests int) {
	Each(tests)
	os.Exit(m.Run())
}

// Each lets so many tests run at a time on each processor. A -parallel flag with another
// number than the default stays. Call it before m.Run.
func Each(tests int) {
	flag.Parse()
	if given := flag.Lookup("test.parallel"); given.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = given.Value.Set(strconv.Itoa(tests * runtime.GOMAXPROCS(0))) // it is a number
	}
}
