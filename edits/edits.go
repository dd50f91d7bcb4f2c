// Package edits counts how far apart two lists are: how many of their items have to be
// inserted, removed, replaced or swapped with the next in order to turn one into the
// other. So somebody who mistyped a name can be told which one is near, and two runs
// can be held against each other.
package edits

// Between counts the edits that turn a into b.
func Between[T comparable](a, b []T) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := row[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			next[j] = min(row[j]+1, next[j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// Letters counts the edits between two words.
func Letters(a, b string) int { return Between([]byte(a), []byte(b)) }
