package chat

import (
	"fmt"
	"strings"
)

// Money writes an amount of money with as many digits as say something, and at
// least two behind the point.
func Money(amount float64) string {
	whole, cents, _ := strings.Cut(fmt.Sprintf("%.6f", amount), ".")
	if amount >= 1 {
		return fmt.Sprintf("$%.2f", amount)
	}
	for len(cents) > 2 && cents[len(cents)-1] == '0' {
		cents = cents[:len(cents)-1]
	}
	return "$" + whole + "." + cents
}
