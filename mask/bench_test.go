package mask

import (
	"fmt"
	"strings"
	"testing"
)

// A file of 16 MB, with as many secrets as a large configuration has.
func BenchmarkBytes(b *testing.B) {
	var values []string
	for i := range 20 {
		values = append(values, fmt.Sprintf("xoxb-%d-secret-of-some-length-%d", i, i*7919))
	}
	m := New(values...)
	data := []byte(strings.Repeat("the quick brown fox jumps over the lazy dog 0123456789\n", 16<<20/55))
	b.SetBytes(int64(len(data)))
	b.ResetTimer()
	for b.Loop() {
		m.Bytes(data)
	}
}
