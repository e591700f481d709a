"""What LaTeX commands print. Shared by reading and by training."""

SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Sigma": "Σ", "Omega": "Ω",
    "sqrt": "√", "sum": "∑", "int": "∫", "prod": "∏", "infty": "∞", "leq": "≤", "geq": "≥", "neq": "≠", "approx": "≈",
    "in": "∈", "to": "→", "rightarrow": "→", "times": "×", "cdot": "·", "pm": "±", "partial": "∂", "nabla": "∇",
    "forall": "∀", "exists": "∃", "cup": "∪", "cap": "∩", "subset": "⊂", "ldots": "…", "prime": "′",
}  # fmt: skip
NAMES = ("sin", "cos", "log", "exp", "lim", "ln", "max", "min")

PRINTED = {"\\" + name: sign for name, sign in SIGNS.items()} | {"\\" + name: name for name in NAMES}
"""By command. All others (fractions, accents, brackets that grow) print nothing that is a letter."""
