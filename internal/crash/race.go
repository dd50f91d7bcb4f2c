//go:build race

package crash

func init() { raced = true }
