"""Chains as models: spaces, rules, measures, and the models that come with markov."""
