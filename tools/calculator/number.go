package calculator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// The size of numbers.
const (
	exactDigits  = 1000  // an exact result has no more; beyond, it is rounded
	shownDigits  = 34    // of a rounded result, as in IEEE 754 decimal128
	workDigits   = 50    // of a rounded result while calculating with it
	largestPower = 10000 // the power of ten that no result reaches
)

// number is a decimal, and how much of it is true. One with an error is none, and neither
// is any that is computed from it.
type number struct {
	apd.Decimal
	digits int // significant digits that count; 0 for an exact number
	err    error
}

func none(err error) *number { return &number{err: err} }

var (
	exactly = context10(exactDigits)
	roughly = context10(workDigits)
)

func context10(precision uint32) *apd.Context {
	c := apd.BaseContext.WithPrecision(precision)
	c.MaxExponent, c.MinExponent = largestPower-1, -largestPower
	c.Rounding = apd.RoundHalfUp
	return c
}

var (
	errZero  = errors.New("division by zero")
	errLarge = fmt.Errorf("a number on the way has more than %d digits", largestPower)
	errSmall = fmt.Errorf("a number on the way is closer to zero than 10^-%d", largestPower)
)

// step is one operation of apd.
type step func(c *apd.Context, d *apd.Decimal) (apd.Condition, error)

// exact performs an operation that is exact when its operands are and the
// result is not too long; else the result is rounded.
func exact(op step, operands ...*number) *number {
	for _, n := range operands {
		if n.err != nil {
			return n
		}
	}
	digits := certainty(operands...)
	if digits == 0 {
		var out number
		condition, err := op(exactly, &out.Decimal)
		if err == nil && !condition.Inexact() {
			return &out
		}
		if condition.DivisionByZero() || condition.DivisionUndefined() {
			return none(errZero)
		}
		digits = shownDigits
	}
	return rounded(op, digits)
}

// rounded performs an operation on numbers of which so many digits are true.
func rounded(op step, digits int) *number {
	out := number{digits: digits}
	condition, err := op(roughly, &out.Decimal)
	if err != nil {
		return none(inWords(condition, err))
	}
	if out.Form != apd.Finite {
		return none(errors.New("it is not defined"))
	}
	return &out
}

func inWords(c apd.Condition, err error) error {
	switch {
	case c.DivisionByZero(), c.DivisionUndefined():
		return errZero
	case c.Overflow(), c.SystemOverflow():
		return errLarge
	case c.Underflow(), c.SystemUnderflow(), c.Subnormal():
		return errSmall
	case c.DivisionImpossible():
		return errors.New("the numbers are too far apart for a remainder")
	}
	return fmt.Errorf("it is not defined (%w)", err)
}

// certainty is the fewest true digits among numbers; 0 when all are exact.
func certainty(numbers ...*number) int {
	digits := 0
	for _, n := range numbers {
		if n.digits > 0 && (digits == 0 || n.digits < digits) {
			digits = n.digits
		}
	}
	return digits
}

// parseNumber reads a literal.
func parseNumber(text string) (*number, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if len(strings.TrimLeft(exponent, "+-0")) > 4 || len(mantissa) > exactDigits {
		return nil, errLarge
	}
	var n number
	if _, condition, err := exactly.SetString(&n.Decimal, text); err != nil {
		return nil, inWords(condition, err)
	}
	return &n, nil
}

// settled is the number as it would be shown: of a rounded one only the digits
// that count, so that 0.99…9 from a division is 1 before it is cut to an
// integer.
func (n *number) settled() *number {
	if n.digits == 0 {
		return n
	}
	out := number{digits: n.digits}
	c := *roughly
	c.Precision = uint32(n.digits)
	if _, err := c.Round(&out.Decimal, &n.Decimal); err != nil {
		return n
	}
	return &out
}

// String writes the number as a person would, with its exactness.
func (n *number) String() string {
	var d apd.Decimal
	d.Reduce(&n.settled().Decimal)
	if d.IsZero() {
		d = apd.Decimal{}
	}
	text := d.Text('E')
	power := int(d.NumDigits()) - 1 + int(d.Exponent)
	longest := exactDigits
	if n.digits > 0 {
		longest = n.digits + 6
	}
	if power < longest && power > -20 {
		text = d.Text('f')
	}
	if n.digits > 0 {
		return fmt.Sprintf("%s (rounded to %d digits)", text, n.digits)
	}
	return text
}
