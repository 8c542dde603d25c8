"""What is shown of claims and of the evidence: pictures, texts, waterfalls."""
