package setting

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, written as 512MiB.
type Size int64

// units are the units of a Size, longest first.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

const wantSize = "must be a size: write a whole number and a unit (KiB, MiB or GiB), such as 512MiB"

// SetText reads a size. A problem names the right form, without repeating the text.
func (s *Size) SetText(text string) string {
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n <= 0 || n > math.MaxInt64/u.bytes {
			return wantSize
		}
		*s = Size(n * u.bytes)
		return ""
	}
	return wantSize
}

// String gives the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range []int{2, 1, 0} {
		if unit := units[u]; s > 0 && int64(s)%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", int64(s)/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%dB", int64(s))
}
