package calculator

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/cockroachdb/apd/v3"
)

// brief rounds an operand before a series is computed with it, whose time grows
// with its length.
func brief(x *number) *apd.Decimal {
	var d apd.Decimal
	if _, err := context10(workDigits+10).Round(&d, &x.Decimal); err != nil {
		return &x.Decimal
	}
	return &d
}

// certain is the number of true digits of a series.
func certain(x ...*number) int {
	if digits := certainty(x...); digits > 0 {
		return digits
	}
	return shownDigits
}

var (
	squareRoot = root((*apd.Context).Sqrt, 2)
	cubeRoot   = root((*apd.Context).Cbrt, 3)
)

// series computes what apd does as a series.
func series(op func(c *apd.Context, d, x *apd.Decimal) (apd.Condition, error), x *number) *number {
	return rounded(func(c *apd.Context, d *apd.Decimal) (apd.Condition, error) { return op(c, d, brief(x)) }, certain(x))
}

// root makes a function of the n-th root, which knows when it is exact.
func root(op func(c *apd.Context, d, x *apd.Decimal) (apd.Condition, error), n int64) operation {
	return func(x ...*number) *number {
		if n == 2 && x[0].Sign() < 0 {
			return none(errors.New("a negative number has no real square root"))
		}
		return verified(series(op, x[0]), x[0], func(r *number) *number { return integerPower(r, n) })
	}
}

// verified gives out as an exact number when its inverse is exactly x.
func verified(out, x *number, inverse func(*number) *number) *number {
	if out.err != nil {
		return out
	}
	guess := &number{Decimal: out.settled().Decimal}
	if back := inverse(guess); back.err == nil && x.digits == 0 && back.digits == 0 && back.Cmp(&x.Decimal) == 0 {
		return guess
	}
	return out
}

// largestExponent is the largest exponent. Beyond it, only a base so near to 1
// gives a result at all that its last digits would be noise.
const largestExponent = 1_000_000_000_000

func power(x ...*number) *number {
	base, exponent := x[0], x[1].settled()
	switch {
	case exponent.IsZero():
		return integer(1)
	case base.IsZero() && exponent.Negative:
		return none(errZero)
	case base.IsZero():
		return integer(0)
	case base.digits == 0 && base.Cmp(apd.New(1, 0)) == 0:
		return integer(1)
	}
	e, err := exponent.Float64()
	if err != nil || math.Abs(e) > largestExponent {
		return none(fmt.Errorf("the exponent is beyond %d", int64(largestExponent)))
	}
	if n, err := exponent.Int64(); err == nil {
		return integerPower(base, n)
	}
	if base.Negative {
		return none(errors.New("a negative number has no real power that is not whole"))
	}
	if exponent.Cmp(apd.New(5, -1)) == 0 {
		return squareRoot(base)
	}
	return rounded(func(c *apd.Context, d *apd.Decimal) (apd.Condition, error) {
		return c.Pow(d, brief(base), brief(exponent))
	}, certain(base, exponent))
}

func integerPower(base *number, n int64) *number {
	if n < 0 {
		p := integerPower(base, -n)
		switch {
		case errors.Is(p.err, errLarge):
			return none(errSmall)
		case errors.Is(p.err, errSmall):
			return none(errLarge)
		}
		return divide(integer(1), p)
	}
	var b apd.Decimal
	b.Reduce(&base.Decimal)
	raise := func(c *apd.Context, d *apd.Decimal) (apd.Condition, error) {
		return c.Pow(d, &b, apd.New(n, 0))
	}
	if base.digits == 0 && (b.NumDigits()*n <= exactDigits || b.Coeff.IsInt64() && b.Coeff.Int64() == 1) {
		return exact(raise, base)
	}
	return rounded(raise, certain(base))
}

func exponential(x ...*number) *number {
	if x[0].IsZero() {
		return integer(1)
	}
	return series((*apd.Context).Exp, x[0])
}

func ln(x ...*number) *number {
	switch {
	case x[0].Sign() <= 0:
		return none(errors.New("it takes numbers greater than 0"))
	case x[0].Cmp(apd.New(1, 0)) == 0:
		return integer(0)
	}
	return series((*apd.Context).Ln, x[0])
}

func logarithmTo(base int64) operation {
	return func(x ...*number) *number { return logarithm(x[0], integer(base)) }
}

func logarithm(x ...*number) *number {
	if len(x) == 1 {
		return none(errors.New("its base is not clear; write ln(x), log10(x) or log(x, base)"))
	}
	return verified(divide(ln(x[0]), ln(x[1])), x[0], func(r *number) *number { return power(x[1], r) })
}

// floatDigits are the significant digits of math's binary results.
const floatDigits = 15

// largestAngle keeps enough digits of an angle once whole turns are taken off.
var largestAngle = apd.New(1, 15)

// circular makes a function of an angle, of its sine and of its cosine.
func circular(of func(angle, sin, cos float64) float64) operation {
	return func(x ...*number) *number {
		var angle, size apd.Decimal
		if size.Abs(&x[0].Decimal); size.Cmp(largestAngle) > 0 {
			return none(errors.New("the angle is larger than 10^15"))
		}
		if c, err := roughly.Rem(&angle, &x[0].Decimal, &turn.Decimal); err != nil {
			return none(inWords(c, err))
		}
		f, err := angle.Float64()
		if err != nil {
			return none(errors.New("the angle is too close to 0"))
		}
		value := of(f, snap(math.Sin(f), f), snap(math.Cos(f), 1))
		if math.IsInf(value, 0) {
			return none(errors.New("it is not defined there"))
		}
		return fromFloat(value)
	}
}

var (
	turn    = multiply(pi, integer(2))
	sine    = circular(func(_, sin, _ float64) float64 { return sin })
	cosine  = circular(func(_, _, cos float64) float64 { return cos })
	tangent = circular(func(angle, sin, cos float64) float64 {
		if sin == 0 || cos == 0 { // angle is not exactly there
			return sin / cos
		}
		return math.Tan(angle)
	})
)

// snap turns a value that is zero but for its last binary digit into zero.
func snap(value, angle float64) float64 {
	if math.Abs(value) < 1e-15 && math.Abs(angle) > 1e-3 {
		return 0
	}
	return value
}

// inverse makes a function of one that gives an angle.
func inverse(f func(float64) float64, largest float64) operation {
	return func(x ...*number) *number {
		v, err := x[0].settled().Float64()
		if err != nil || math.Abs(v) > largest {
			return none(fmt.Errorf("it takes numbers from -%g to %g", largest, largest))
		}
		return fromFloat(f(v))
	}
}

// fromFloat takes the digits of a binary number that count.
func fromFloat(f float64) *number {
	n, err := parseNumber(strconv.FormatFloat(f, 'e', floatDigits-1, 64))
	if err != nil {
		return none(err)
	}
	n.digits = floatDigits
	return n
}
